// Package natsconf has the configuration files of the NATS servers, for deploy/local-cluster and
// for tests. README.md in this folder describes them.
package natsconf

import "embed"

// Files are the configuration files.
//
//go:embed *.conf
var Files embed.FS
