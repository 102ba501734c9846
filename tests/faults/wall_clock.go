// Built into a program as part of Go's package time, lets its wall clock step as wall_clock.c does. Go asks no libc for the
// time.
package time

import (
	"syscall"
	"unsafe"
)

var (
	trueTime int64
	ahead    = &trueTime
)

func init() {
	path, found := syscall.Getenv("WALL_CLOCK")
	if !found {
		return
	}
	file, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	page, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err == nil {
		ahead = (*int64)(unsafe.Pointer(&page[0]))
	}
	syscall.Close(file)
}
