package folder_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"payledger/eventstore/folder"
)

// TestNames: the files have the names of this version of the server. The package does not import
// the server, so that readers of a folder do not link it.
func TestNames(t *testing.T) {
	if folder.Description != server.JetStreamMetaFile || folder.DescriptionSum != server.JetStreamMetaFileSum {
		t.Errorf("%s and %s are %s and %s at the server", folder.Description, folder.DescriptionSum, server.JetStreamMetaFile, server.JetStreamMetaFileSum)
	}
}
