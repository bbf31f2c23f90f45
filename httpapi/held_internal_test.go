package httpapi

import (
	"net/http"
	"testing"
)

// TestHeldAnswer: an answer that does not fit is known as such: none of its bytes may be sent as if
// they were all.
func TestHeldAnswer(t *testing.T) {
	t.Parallel()
	h := &held{header: http.Header{}, status: http.StatusOK}
	if n, err := h.Write(make([]byte, heldMost)); n != heldMost || err != nil || h.full {
		t.Errorf("%d bytes: %v, full: %t", n, err, h.full)
	}
	if n, err := h.Write([]byte{1}); n > 0 || err == nil || !h.full {
		t.Errorf("%d bytes more: %v, full: %t", n, err, h.full)
	}
}
