package homepages

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWebhookChart: the endpoints with the lowest rates have a line, as many as the chart can show.
// A rate of 0 is drawn, and an endpoint without a tried webhook has no line.
func TestWebhookChart(t *testing.T) {
	t.Parallel()
	none := 0.0
	o := &statisticsView{Compared: "the day before"}
	o.Now.Webhooks = &webhooks{ByDay: []webhookBucket{{Day: "2026-03-14"}}}
	var rows []webhookRow
	for i := range mostLines + 3 {
		row := webhookRow{ID: fmt.Sprint(i), Name: strings.Repeat(fmt.Sprint(i), 40)}
		if i > 0 {
			row.Rate = &none
		}
		rows = append(rows, row)
	}
	o.Now.Webhooks.ByDay[0].Endpoints = append(o.Now.Webhooks.ByDay[0].Endpoints, struct {
		EndpointID string
		Rate       *float64
	}{"2", &none})
	c := webhookChart(o, &statistics{Webhooks: &webhooks{ByDay: []webhookBucket{{webhookCounts: webhookCounts{Rate: new(0.5)}}}}}, rows, false)
	if len(c.Series) != mostLines+1 || c.Series[0].Label != strings.Repeat("1", shortName-1)+"…" || !c.Series[mostLines].Before || !c.Drawn() {
		t.Errorf("%+v", c)
	}
	if cells := c.Rows[0].Cells; cells[0] != (cell{Text: "–"}) || cells[1] != (cell{"0.0 %", "0.00"}) || cells[mostLines] != (cell{"50.0 %", "50.00"}) {
		t.Errorf("%+v", cells)
	}
	if c := webhookChart(o, nil, rows[:1], false); len(c.Series) != 0 || c.Drawn() {
		t.Errorf("%+v", c)
	}
}

// TestLasted: times have a unit that people read.
func TestLasted(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0.1 ms": 128 * time.Microsecond, "9.2 ms": 9216 * time.Microsecond, "340 ms": 340 * time.Millisecond, "1.2 s": 1152 * time.Millisecond,
		"115 s": 115 * time.Second, "4.0 min": 4 * time.Minute, "119 min": 119 * time.Minute, "5.2 h": 312 * time.Minute, "3.0 days": 72 * time.Hour,
	} {
		if got := strings.ReplaceAll(lasted(new(float64(d.Microseconds())/1000)), "\u00a0", " "); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	if lasted(nil) != "–" {
		t.Error(lasted(nil))
	}
}
