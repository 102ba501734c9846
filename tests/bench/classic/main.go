// classic SOCKET,... KEY CONTENDERS ROUNDS HOLD_MS: contenders that lock several servers as it is usually done (redsync: SET NX
// on all, and where they are too few, a random pause and all again), each with connections of its own, in one process. Prints
// for each acquisition when it was asked for and when it was had, in microseconds.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	rsredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	client "github.com/redis/go-redis/v9"
)

func main() {
	contenders, _ := strconv.Atoi(os.Args[3])
	rounds, _ := strconv.Atoi(os.Args[4])
	hold, _ := strconv.Atoi(os.Args[5])
	var out sync.Mutex
	var all sync.WaitGroup
	for c := 0; c < contenders; c++ {
		all.Add(1)
		go func() {
			defer all.Done()
			var pools []rsredis.Pool
			for _, path := range strings.Split(os.Args[1], ",") {
				pools = append(pools, goredis.NewPool(client.NewClient(&client.Options{Network: "unix", Addr: path, PoolSize: 2, Protocol: 2, DisableIdentity: true})))
			}
			mutex := redsync.New(pools...).NewMutex(os.Args[2], redsync.WithTries(100000))
			for r := 0; r < rounds; r++ {
				start := time.Now()
				if err := mutex.Lock(); err != nil {
					fmt.Fprintln(os.Stderr, err)
					continue
				}
				got := time.Now()
				time.Sleep(time.Duration(hold) * time.Millisecond)
				mutex.Unlock()
				out.Lock()
				fmt.Println(start.UnixMicro(), got.UnixMicro())
				out.Unlock()
			}
		}()
	}
	all.Wait()
}
