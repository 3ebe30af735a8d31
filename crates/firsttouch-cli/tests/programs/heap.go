// Keeps some hundred MiB in a heap that no preload library reaches, and works in it for a while.
package main

import "os"

const blocks, words = 24, 1 << 21

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
