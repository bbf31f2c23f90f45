package folder

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// TestNames: the file has the name of this version of the server. The package does not import the
// server, so that readers of a folder do not link it.
func TestNames(t *testing.T) {
	if description != server.JetStreamMetaFile {
		t.Errorf("%s is %s at the server", description, server.JetStreamMetaFile)
	}
}
