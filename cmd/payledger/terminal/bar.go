package terminal

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Bar shows the progress of a command on a terminal, with its rate and the remaining time.
type Bar struct {
	out   io.Writer // nil: no terminal
	shown *progressbar.ProgressBar
	what  string
	of    int64
}

// NewBar returns a bar on a terminal. On any other output the bar shows nothing.
func NewBar(out io.Writer) *Bar {
	if !Is(out) {
		return &Bar{}
	}
	return &Bar{out: out}
}

// Show draws the bar. If the total is unknown (0), it shows only the count.
func (b *Bar) Show(what string, done, of uint64) {
	if b.out == nil {
		return
	}
	total := int64(of)
	if total == 0 {
		total = -1
	}
	if b.shown == nil || b.what != what || b.of != total {
		b.Clear()
		b.what, b.of = what, total
		b.shown = progressbar.NewOptions64(total, progressbar.OptionSetWriter(b.out), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(total > 0),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
	}
	b.fail(b.shown.Set64(int64(done)))
}

// Events draws the bar for events.
func (b *Bar) Events(done, of uint64) { b.Show("events", done, of) }

// Clear removes the bar before a line of output.
func (b *Bar) Clear() {
	if b.out != nil && b.shown != nil {
		b.fail(b.shown.Clear())
	}
}

// fail prints an error of the bar and stops drawing; the work continues.
func (b *Bar) fail(err error) {
	if err != nil {
		fmt.Fprintln(b.out, "progress:", err)
		b.out = nil
	}
}
