package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestFailedStory: a story that fails, or is interrupted, deletes its webhook endpoint, and its
// error is that of the chapter.
func TestFailedStory(t *testing.T) {
	t.Parallel()
	for name, interrupted := range map[string]bool{"fails": false, "interrupted": true} {
		ctx, interrupt := context.WithCancel(t.Context())
		var deleted atomic.Int64
		routes := http.NewServeMux()
		routes.HandleFunc("POST /management/webhook-endpoints", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id":"e1"}`) })
		routes.HandleFunc("DELETE /management/webhook-endpoints/e1", func(w http.ResponseWriter, _ *http.Request) {
			deleted.Add(1)
			fmt.Fprint(w, "{}")
		})
		routes.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			if interrupted {
				interrupt()
			}
			w.WriteHeader(http.StatusNotFound)
		})
		server := httptest.NewServer(routes)
		_, err := Play(ctx, Stage{API: server.URL, APIKey: "key", SigningSecret: "secret", Out: io.Discard})
		if err == nil || !strings.Contains(err.Error(), "chapter 2") || deleted.Load() != 1 {
			t.Errorf("%s: %v, and the endpoint was deleted %d times", name, err, deleted.Load())
		}
		interrupt()
		server.Close()
	}
}
