package terminal_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/terminal"
)

// TestLogBuffer: lines wait for others for 100 ms at most; warnings, a full buffer and Flush write
// at once, in order.
func TestLogBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		buffer := terminal.NewLogBuffer(&out)
		log := zerolog.New(buffer)
		want := func(when, text string) {
			t.Helper()
			synctest.Wait()
			if got := out.take(); got != text {
				t.Errorf("%s: %q, expected %q", when, got, text)
			}
		}
		one, two := `{"level":"info","message":"one"}`+"\n", `{"level":"warn","message":"two"}`+"\n"
		log.Info().Msg("one")
		<-time.After(99 * time.Millisecond)
		want("99 ms later", "")
		<-time.After(time.Millisecond)
		want("100 ms later", one)
		log.Info().Msg("one")
		log.Warn().Msg("two")
		want("at a warning", one+two)
		log.Info().Msg("one")
		buffer.Flush()
		want("at a flush", one)
		<-time.After(time.Second)
		want("a second later", "")
		for range 32<<10/len(one) + 1 {
			log.Info().Msg("one")
		}
		want("when it is full", strings.Repeat(one, 32<<10/len(one)+1))
	})
}

// output keeps the text that a buffer writes. The test and the buffer's timer use it from different
// goroutines.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(lines []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(lines)
}

// take returns the text that was written after the previous call.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.text.Reset()
	return o.text.String()
}
