// heap ROUNDS MIB: slices read and written at random places by two goroutines, and garbage. Talks as gather.c does.
package main

import (
	"os"
	"strconv"
	"sync"
)

const workers, steps = 2, 1 << 20

type part struct {
	blocks [][]uint64
	state  uint64
	sum    uint64
}

func (p *part) next() uint64 {
	p.state ^= p.state << 13
	p.state ^= p.state >> 7
	p.state ^= p.state << 17
	return p.state
}

func (p *part) work() {
	for step := 0; step < steps; step++ {
		random := p.next()
		block := p.blocks[random%uint64(len(p.blocks))]
		at := random >> 32 % uint64(len(block))
		p.sum += block[at]
		block[at] ^= random
	}
	var garbage [16][]byte
	for at := 0; at < 1024; at++ {
		garbage[at%len(garbage)] = make([]byte, 1024+at%512)
	}
	p.sum += uint64(len(garbage[p.sum%16]))
}

func say(words ...string) {
	line := ""
	for _, word := range words {
		line += word + " "
	}
	os.Stdout.WriteString(line[:len(line)-1] + "\n")
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	mib, _ := strconv.Atoi(os.Args[2])
	parts := make([]*part, workers)
	for worker := range parts {
		p := &part{state: 88172645463325252 + uint64(worker)}
		for block := 0; block < mib/workers; block++ {
			words := make([]uint64, 1<<17)
			for at := range words {
				words[at] = p.next()
			}
			p.blocks = append(p.blocks, words)
		}
		parts[worker] = p
	}
	say("ready", strconv.Itoa(os.Getpid()))
	goesOn := func(round int) bool {
		if rounds > 0 {
			return round <= rounds
		}
		_, err := os.Stat("stop")
		return err != nil
	}
	for round := 1; goesOn(round); round++ {
		var team sync.WaitGroup
		for _, p := range parts {
			team.Add(1)
			go func() {
				defer team.Done()
				p.work()
			}()
		}
		team.Wait()
		digest := uint64(0)
		for _, p := range parts {
			digest = digest*31 + p.sum
		}
		say("round", strconv.Itoa(round), strconv.FormatUint(digest, 16))
	}
}
