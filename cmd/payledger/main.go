package main

import (
	"os"

	"payledger/cmd/payledger/command"
)

func main() { os.Exit(command.Run(os.Args[1:], os.Stdout, os.Stderr)) }
