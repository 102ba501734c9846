// client redsync|redislock try|hold KEY: see client.py.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// keep says that the lock is held, and returns when it is to be released.
func keep() {
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
}

func main() {
	library, key, tries := os.Args[1], os.Args[3], 1
	if os.Args[2] == "hold" {
		tries = 3000
	}
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: os.Getenv("sock")})
	if library == "redsync" {
		mutex := redsync.New(goredis.NewPool(client)).NewMutex(key, redsync.WithExpiry(30*time.Second),
			redsync.WithTries(tries), redsync.WithRetryDelay(50*time.Millisecond))
		if mutex.Lock() != nil {
			os.Exit(75)
		}
		keep()
		_, err := mutex.Unlock()
		check(err)
		return
	}
	lock, err := redislock.Obtain(ctx, client, key, 30*time.Second,
		&redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(50*time.Millisecond), tries-1)})
	if err == redislock.ErrNotObtained {
		os.Exit(75)
	}
	check(err)
	keep()
	check(lock.Release(ctx))
}
