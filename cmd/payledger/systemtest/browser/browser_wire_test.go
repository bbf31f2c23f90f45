//go:build system && !race

package browser

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// empty is for commands of the browser without parameters.
var empty = cdp.Empty{}

// reload loads the page again.
func reload() chromedp.Action[chromedp.Void] { return chromedp.Reload() }

// paused calls handle with every call to a matching address, before the call is sent or when its
// answer has arrived.
func (w *tab) paused(pattern string, stage fetch.RequestStage, handle func(*fetch.EventRequestPaused)) {
	w.t.Helper()
	w.ok(chromedp.Listen(w.ctx, func(event any) {
		if paused, ok := event.(*fetch.EventRequestPaused); ok {
			go handle(paused)
		}
	}))
	enable(w, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: pattern, RequestStage: stage}}})
}

// cut breaks the connection of a call. It ignores the tab's answer: the page may be closed by then.
func cut(w *tab, paused *fetch.EventRequestPaused) {
	_, _ = chromedp.Call(w.ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: paused.RequestID, ErrorReason: network.ErrorReasonConnectionReset})
}

// fulfil answers a call in place of the service.
func fulfil(w *tab, paused *fetch.EventRequestPaused, status int64, body string) {
	_, _ = chromedp.Call(w.ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
		RequestID: paused.RequestID, ResponseCode: status, Body: []byte(body),
		ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "application/json"}},
	})
}

// cutAnswers breaks the connection when the answer of a call is there, so often.
func (w *tab) cutAnswers(pattern string, times int64) {
	w.t.Helper()
	var left atomic.Int64
	left.Store(times)
	w.paused(pattern, fetch.RequestStageResponse, func(paused *fetch.EventRequestPaused) {
		if left.Add(-1) >= 0 {
			cut(w, paused)
			return
		}
		_, _ = chromedp.Call(w.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: paused.RequestID})
	})
}

// expire has the service see a token that is not good any more in calls.
func (w *tab) expire(pattern string) {
	w.t.Helper()
	w.paused(pattern, fetch.RequestStageRequest, func(paused *fetch.EventRequestPaused) {
		_, _ = chromedp.Call(w.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: paused.RequestID, Headers: []*fetch.HeaderEntry{
			{Name: "X-Client-Token", Value: "an.expired.token"}, {Name: "Content-Type", Value: "application/json"},
		}})
	})
}

// hold holds calls back until release, so that the page keeps its content meanwhile.
func (w *tab) hold(pattern string) (release func()) {
	w.t.Helper()
	held := make(chan struct{})
	w.paused(pattern, fetch.RequestStageRequest, func(paused *fetch.EventRequestPaused) {
		select {
		case <-held:
		case <-w.ctx.Done():
			return
		}
		_, _ = chromedp.Call(w.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: paused.RequestID})
	})
	return sync.OnceFunc(func() { close(held) })
}

// visible reports whether an element exists and is visible.
func (w *tab) visible(selector string) bool {
	w.t.Helper()
	return eval[bool](w, `[...document.querySelectorAll(`+strconv.Quote(selector)+`)].some((e) => e.checkVisibility())`)
}

// widths are those of a telephone and of a desk's screen; one of them is enough in a hurry.
func widths() []int64 {
	if testing.Short() {
		return []int64{390}
	}
	return []int64{390, 1280}
}
