// go_burn MS: uses MS of CPU time in each of four goroutines, then runs a child.
package main

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

func used() int64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func main() {
	ms, _ := strconv.ParseInt(os.Args[1], 10, 64)
	var wait sync.WaitGroup
	for i := 0; i < 4; i++ {
		wait.Add(1)
		go func() {
			for x := 1; used() < 4*ms*1000000; x++ {
			}
			wait.Done()
		}()
	}
	wait.Wait()
	if err := exec.Command("true").Run(); err != nil {
		os.Exit(1)
	}
}
