package reconcilepages

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// TestLeftOut: the number of differences that the page leaves out is in groups of digits.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	templates, err := frame.Parse(Files)
	if err != nil {
		t.Fatal(err)
	}
	for left, want := range map[int]string{1: "There is 1 more difference.", 1234567: "There are 1,234,567 more differences."} {
		f := frame.New(frame.Config{Now: time.Now, API: func(context.Context, frame.Identity, frame.Request) frame.Answer {
			return frame.Answer{Status: http.StatusOK, Body: fmt.Appendf(nil, `{"id":"run","state":"DONE","processor":"ADYEN","summary":{"differences":%d},"leftOut":%d,"differences":[{"kind":"MISSING_THERE"}]}`, 500+left, left)}
		}}, templates)
		page := httptest.NewRecorder()
		if err := show(f.Visit(page, httptest.NewRequest(http.MethodGet, "/dashboard/reconciliation/run", nil), frame.Identity{})); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.Body.String(), want) {
			t.Errorf("not on the page: %s", want)
		}
	}
}
