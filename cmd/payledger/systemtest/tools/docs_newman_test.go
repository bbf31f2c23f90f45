//go:build system

package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/eventstoretest"
)

// TestNewman: the Postman collection runs from its first request to its last: every request
// succeeds, with the tokens and ids of those before it.
func TestNewman(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	tools, there := apptest.NpmTools(t)
	if !there {
		return
	}
	p := apptest.ServeProcess(t, "--data", filepath.Join(t.TempDir(), "data"), "--webhook-allow-cidr", "127.0.0.0/8")
	hooks, bodies := apptest.Receiver(t, p.Credentials.SigningSecret)
	go func() {
		for range bodies { // a receiver that nobody empties would stop
		}
	}()
	dir := t.TempDir()
	collection := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey).Must(t, "GET", "/docs/payledger.postman_collection.json", nil, nil)
	apptest.WriteClient(t, dir, "collection.json", collection.Body)
	said, err := apptest.ToolOutput(t, dir, filepath.Join(tools, "node_modules", ".bin", "newman"), "run", "collection.json", "--color", "off",
		"--env-var", "apiKey="+p.Credentials.APIKey, "--env-var", "webhookUrl="+hooks, "--reporters", "cli,json", "--reporter-json-export", "result.json")
	if err != nil {
		t.Fatalf("newman: %v\n%s", err, said)
	}
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Collection struct{ Item []struct{ Item []any } }
		Run        struct {
			Stats struct{ Assertions, PrerequestScripts, TestScripts struct{ Total, Failed int } }
		}
	}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	requests := 0
	for _, folder := range result.Collection.Item {
		requests += len(folder.Item)
	}
	s := result.Run.Stats
	if requests < 80 || s.TestScripts.Total != requests || s.Assertions.Total < requests || s.Assertions.Failed+s.PrerequestScripts.Failed+s.TestScripts.Failed > 0 {
		t.Errorf("%d of %d requests were sent: %+v\n%s", s.TestScripts.Total, requests, s, said)
	}
}
