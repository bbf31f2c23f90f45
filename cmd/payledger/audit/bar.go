package audit

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/reconcile"
)

// bar shows how far a comparison has come, on a terminal only.
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

// show draws. The number of entries in a processor's books is not known before they are read: their pass counts only.
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
	b.tell(b.shown.Set(done))
}

// clear makes room for a line of the table.
func (b *bar) clear() {
	if b.shown != nil {
		b.tell(b.shown.Clear())
	}
}

// tell writes what is wrong with the bar; it ends nothing.
func (b *bar) tell(err error) {
	if err != nil {
		fmt.Fprintln(b.out, "progress:", err)
		b.out = nil
	}
}
