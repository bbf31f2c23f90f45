package audit

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/reconcile"
)

// bar shows the progress of a comparison on a terminal.
type bar struct {
	out   io.Writer // nil: no terminal
	shown *progressbar.ProgressBar
	books bool // of the second pass
}

func newBar(out io.Writer) *bar {
	if !terminal.Is(out) {
		return &bar{}
	}
	return &bar{out: out}
}

// show draws the bar. The number of entries in a processor's books is unknown: their pass only counts.
func (b *bar) show(p reconcile.Progress) {
	if b.out == nil {
		return
	}
	if b.shown == nil || b.books != p.Books {
		total, what := int64(p.Total), "payments of the ledger"
		if p.Books {
			total, what = -1, "entries of the books"
		}
		b.clear()
		b.books = p.Books
		b.shown = progressbar.NewOptions64(total, progressbar.OptionSetWriter(b.out), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(total > 0),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
	}
	done := p.Payments
	if p.Books {
		done = p.Records + p.Disputes
	}
	b.fail(b.shown.Set(done))
}

// clear removes the bar before a line of the table.
func (b *bar) clear() {
	if b.shown != nil {
		b.fail(b.shown.Clear())
	}
}

// fail prints an error of the bar and stops drawing; the comparison continues.
func (b *bar) fail(err error) {
	if err != nil {
		fmt.Fprintln(b.out, "progress:", err)
		b.out = nil
	}
}
