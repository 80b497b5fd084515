// Command aaep makes any program an accessible agent, follows agents, and shows how both look.
package main

import (
	"os"

	"github.com/aaep-go/aaep/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
