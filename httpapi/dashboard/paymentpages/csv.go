package paymentpages

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
	"payledger/projections/csvtext"
)

const (
	// csvMost is the greatest number of rows in one answer, csvPart that in a part.
	csvMost, csvPart = 20_000, 2000
	// paymentsAtOnce is the number of payments in a page of the list. Each row needs a call of its
	// own, and a part ends only between two pages: its time, with a slow page after it, is within
	// that of a request.
	paymentsAtOnce = 20
	// csvBytes is the size at which an answer ends with the next page of payments or events.
	csvBytes = 4 << 20
	// partTime is the time after which a part ends, about, also without a row, and wholeTime that
	// of an answer to a browser without the script. The server ends a request after 30 s.
	partTime, wholeTime = 5 * time.Second, 20 * time.Second
)

const (
	headerPart  = "X-Dashboard-Part" // the number of rows that the script requests
	headerNext  = "X-Next-Cursor"    // the cursor of the next part, if there is one
	headerRows  = "X-Rows"           // the number of rows in the answer
	headerShare = "X-Share"          // the part of the whole file until the end of the answer, 0 to 1
)

var paymentColumns = []string{
	"id", "created_utc", "updated_utc", "status", "reason", "order_id", "customer_id", "customer_email", "currency", "amount", "captured", "refunded",
	"payment_method", "card", "processor", "processor_merchant_id",
}

// csvMark is the byte order mark, without which spreadsheets read UTF-8 as another encoding.
const csvMark = "\ufeff"

// csvTime is a time of constant width that spreadsheets take for a time.
const csvTime = "2006-01-02 15:04:05"

func amountParameter(a domain.Amount) string { return strconv.FormatInt(int64(a), 10) }

// units writes an amount in units of its currency, which stands in a column of its own.
func units(a domain.Amount, c domain.Currency) string {
	return strings.TrimSuffix(a.Format(c), " "+string(c))
}

// part is a part of a file for spreadsheets: for the script of the page, which reads on at the
// cursor in the header and makes one file of all parts, or for a browser without it, which gets
// csvMost rows at most. The name of a file that is not whole says so.
type part struct {
	*frame.Visit
	name string
	most int // rows
	end  time.Time
	text bytes.Buffer
	csv  *csv.Writer
	rows int
}

// newPart begins a part. The first one has the names of the columns. The name of the file has the
// days of the address, which are valid.
func newPart(v *frame.Visit, name string, columns []string, first bool) *part {
	p := &part{Visit: v, name: name + period(v.Value("from"), v.Value("to")) + "-" + v.Now().UTC().Format("20060102-150405"), most: csvMost, end: v.Now().Add(wholeTime)}
	if n, err := strconv.Atoi(v.Request.Header.Get(headerPart)); err == nil {
		p.most, p.end = max(1, min(n, csvPart)), v.Now().Add(partTime)
	}
	p.csv = csv.NewWriter(&p.text)
	if first {
		p.text.WriteString(csvMark)
		_ = p.csv.Write(columns) // a buffer takes everything
	}
	return p
}

func (p *part) add(row []string) {
	_ = p.csv.Write(row)
	p.rows++
}

// full reports whether the part ends: it has all its rows or csvBytes, or its time is over.
func (p *part) full() bool {
	p.csv.Flush()
	return p.rows >= p.most || p.text.Len() >= csvBytes || p.late()
}

// late reports whether the time of the part is over.
func (p *part) late() bool { return !p.Now().Before(p.end) }

// cut says that the file goes on at a cursor, after the rows of the part.
func (p *part) cut(cursor string) {
	p.Writer.Header().Set(headerNext, cursor)
	p.name += "-first-" + strconv.Itoa(p.rows)
}

func (p *part) send() error {
	p.csv.Flush()
	p.Writer.Header().Set(headerRows, strconv.Itoa(p.rows))
	p.Download(p.name+".csv", "text/csv; charset=utf-8")
	if _, err := p.Writer.Write(p.text.Bytes()); err != nil {
		return frame.Gone{Err: err}
	}
	return nil
}

// exportPayments serves the file of the filtered list, from the cursor on.
func exportPayments(v *frame.Visit) error {
	form := frame.Form{Values: v.Request.URL.Query()}
	q := query(&form)
	if !form.Sound() {
		return v.Redirect(frame.Address(pathPayments, frame.Without(form.Values, "done")), "")
	}
	cursor := v.Value("cursor")
	out := newPart(v, "payments", paymentColumns, cursor == "")
	q.Set("limit", strconv.Itoa(min(out.most, paymentsAtOnce)))
	for {
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		var found page
		if err := v.Get(apiPayments, q, &found); err != nil {
			return err
		}
		for _, p := range found.Data {
			email, err := emailOf(v, p.ID)
			if err != nil {
				return err
			}
			out.add(row(p, email))
		}
		if cursor = found.NextCursor; cursor == "" {
			break
		}
		if out.full() {
			out.cut(cursor)
			break
		}
	}
	return out.send()
}

// period returns the days of a filter, for the name of a file: "-2026-03-01-to-2026-03-31"; "" for
// none.
func period(from, to string) string {
	switch {
	case from == "" && to == "":
		return ""
	case from == to:
		return "-" + from
	case to == "":
		return "-from-" + from
	case from == "":
		return "-to-" + to
	default:
		return "-" + from + "-to-" + to
	}
}

// emailOf returns the e-mail address of a payment's customer; "" for none, and after an erasure. No
// list of the API has it: it is sealed.
func emailOf(v *frame.Visit, id string) (string, error) {
	var p struct {
		Customer struct{ EmailAddress string }
	}
	err := v.Get(frame.Path("management", "payments", id), nil, &p)
	return p.Customer.EmailAddress, err
}

func row(p summary, email string) []string {
	cells := []string{
		p.ID, p.Date.UTC().Format(csvTime), p.DateUpdated.UTC().Format(csvTime), p.Status, p.Reason(), p.OrderID, p.CustomerID, email,
		string(p.CurrencyCode), units(p.Amount, p.CurrencyCode), units(0, p.CurrencyCode), units(0, p.CurrencyCode), p.PaymentMethodType, p.Card(), "", "",
	}
	if p.Processor != nil {
		cells[10], cells[11] = units(p.Processor.AmountCaptured, p.CurrencyCode), units(p.Processor.AmountRefunded, p.CurrencyCode)
		cells[14], cells[15] = string(p.Processor.Name), p.Processor.ProcessorMerchantID
	}
	for i := range cells {
		cells[i] = csvtext.Escape(cells[i])
	}
	return cells
}
