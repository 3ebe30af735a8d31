// Keeps some hundred MiB in a heap that no preload library reaches, and works in it for a while. With PATIENCE=SECONDS
// it first waits until most of it is on huge pages, at most so long: how soon that is depends on who else is at work.
package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

const blocks, words = 24, 1 << 21

// The share of the heap that the kernel says is on huge pages.
func share() float64 {
	text, _ := os.ReadFile("/proc/self/smaps_rollup")
	_, figure, _ := strings.Cut(string(text), "AnonHugePages:")
	kib, _ := strconv.Atoi(strings.Fields(figure + " 0")[0])
	return float64(kib) * 1024 / (blocks * words * 8)
}

func main() {
	memory := make([][]uint64, blocks)
	state := uint64(123)
	for block := range memory {
		memory[block] = make([]uint64, words)
		for at := range memory[block] {
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			memory[block][at] = state
		}
	}
	patience, _ := strconv.Atoi(os.Getenv("PATIENCE"))
	for end := time.Now().Add(time.Duration(patience) * time.Second); time.Now().Before(end) && share() < 0.95; {
		time.Sleep(20 * time.Millisecond)
	}
	sum := uint64(0)
	for round := 0; round < 48; round++ {
		for block := range memory {
			for at := range memory[block] {
				sum = sum*31 + memory[block][at]
				memory[block][at] += uint64(round)
			}
		}
	}
	digits := []byte{}
	for ; sum > 0; sum /= 10 {
		digits = append(digits, byte('0'+sum%10))
	}
	os.Stdout.Write(append(digits, '\n'))
	os.Exit(4)
}
