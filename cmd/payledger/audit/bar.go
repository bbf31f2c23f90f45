package audit

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"payledger/cmd/payledger/terminal"
)

// bar shows the progress of a command on a terminal, with its rate and the remaining time.
type bar struct {
	out   io.Writer // nil: no terminal
	shown *progressbar.ProgressBar
	what  string
	of    int64
}

func newBar(out io.Writer) *bar {
	if !terminal.Is(out) {
		return &bar{}
	}
	return &bar{out: out}
}

// show draws the bar. If the total is unknown (0), it shows only the count.
func (b *bar) show(what string, done, of uint64) {
	if b.out == nil {
		return
	}
	total := int64(of)
	if total == 0 {
		total = -1
	}
	if b.shown == nil || b.what != what || b.of != total {
		b.clear()
		b.what, b.of = what, total
		b.shown = progressbar.NewOptions64(total, progressbar.OptionSetWriter(b.out), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(total > 0),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
	}
	b.fail(b.shown.Set64(int64(done)))
}

func (b *bar) events(done, of uint64) { b.show("events", done, of) }

// clear removes the bar before a line of output.
func (b *bar) clear() {
	if b.out != nil && b.shown != nil {
		b.fail(b.shown.Clear())
	}
}

// fail prints an error of the bar and stops drawing; the work continues.
func (b *bar) fail(err error) {
	if err != nil {
		fmt.Fprintln(b.out, "progress:", err)
		b.out = nil
	}
}
