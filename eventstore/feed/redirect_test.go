package feed_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"payledger/eventstore/feed"
)

// TestRedirect: the reader sends its API key to no other address than its own.
func TestRedirect(t *testing.T) {
	t.Parallel()
	var keys []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { keys = append(keys, r.Header.Get("X-Api-Key")) }))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		server := httptest.NewServer(http.RedirectHandler(other.URL+"/events", status))
		failed := errors.New("the sequence has ended")
		for _, err := range feed.HTTP(server.URL, "plk_sandbox_secret").Events(t.Context(), 0) {
			failed = err
		}
		if failed == nil || !strings.Contains(failed.Error(), http.StatusText(status)) || errors.Is(failed, feed.ErrBroken) || len(keys) > 0 {
			t.Errorf("%d: %v; the other server got the keys %q", status, failed, keys)
		}
		server.Close()
	}
}
