// What `rlock run KEY COMMAND...` is in Go with etcd's concurrency.Mutex: HOST:PORT,... KEY COMMAND [ARG...].
package main

import (
	"context"
	"log"
	"os"
	"os/exec"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

func run(hosts, key string, command []string) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(hosts, ","), Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := concurrency.NewSession(client)
	if err != nil {
		return err
	}
	defer session.Close()
	mutex := concurrency.NewMutex(session, "/go/"+key)
	if err := mutex.Lock(context.Background()); err != nil {
		return err
	}
	defer mutex.Unlock(context.Background())
	child := exec.Command(command[0], command[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	return child.Run()
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}
