package audit

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"payledger/cmd/payledger/terminal"
)

// eventBar shows on a terminal how many events were read, with rate and time left.
type eventBar struct {
	out   io.Writer // nil: no terminal
	shown *progressbar.ProgressBar
	of    int64
}

func newEventBar(out io.Writer) *eventBar {
	if !terminal.Is(out) {
		return &eventBar{}
	}
	return &eventBar{out: out}
}

// show draws the bar. An unknown number of events, 0, only counts.
func (b *eventBar) show(done, of uint64) {
	if b.out == nil {
		return
	}
	total := int64(of)
	if total == 0 {
		total = -1
	}
	if b.shown == nil || b.of != total {
		b.clear()
		b.of = total
		b.shown = progressbar.NewOptions64(total, progressbar.OptionSetWriter(b.out), progressbar.OptionSetDescription("events"),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(total > 0),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
	}
	b.fail(b.shown.Set64(int64(done)))
}

// clear removes the bar before a line of output.
func (b *eventBar) clear() {
	if b.out != nil && b.shown != nil {
		b.fail(b.shown.Clear())
	}
}

// fail prints an error of the bar and stops drawing; the work continues.
func (b *eventBar) fail(err error) {
	if err != nil {
		fmt.Fprintln(b.out, "progress:", err)
		b.out = nil
	}
}
