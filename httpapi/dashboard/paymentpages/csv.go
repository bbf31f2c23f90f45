package paymentpages

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
	"payledger/projections/csvtext"
)

const (
	// csvMost is the greatest number of payments in one answer, csvPart that in a part.
	csvMost, csvPart = 20_000, 2000
	// csvBytes is the size at which an answer ends with the next page of payments.
	csvBytes = 8 << 20
)

const (
	headerPart     = "X-Dashboard-Part" // the number of payments that the script requests
	headerNext     = "X-Next-Cursor"    // the cursor of the next part, if there is one
	headerPayments = "X-Payments"       // the number of payments in the answer
	headerRows     = "X-Rows"           // the number of their rows
)

// file is a file for spreadsheets about filtered payments.
type file struct {
	name    string // without the time and the ending
	columns []string
	rows    func(v *frame.Visit, p summary) ([][]string, error) // of a payment
}

var paymentFile = file{"payments", []string{
	"id", "created_utc", "updated_utc", "status", "reason", "order_id", "customer_id", "customer_email", "currency", "amount", "captured", "refunded",
	"payment_method", "card", "processor", "processor_merchant_id",
}, func(v *frame.Visit, p summary) ([][]string, error) {
	email, err := emailOf(v, p.ID)
	return [][]string{row(p, email)}, err
}}

// csvMark is the byte order mark, without which spreadsheets read UTF-8 as another encoding.
const csvMark = "\ufeff"

// csvTime is a time of constant width that spreadsheets take for a time.
const csvTime = "2006-01-02 15:04:05"

func amountParameter(a domain.Amount) string { return strconv.FormatInt(int64(a), 10) }

// units writes an amount in units of its currency, which stands in a column of its own.
func units(a domain.Amount, c domain.Currency) string {
	return strings.TrimSuffix(a.Format(c), " "+string(c))
}

// export serves the file of the filtered list, from the cursor on: a part for the script of the
// page, which reads on at the cursor in the header and makes one file of all parts; for a browser
// without it csvMost payments at most. Both end earlier at csvBytes. The name of a file that is not
// whole says so.
func (f file) export(v *frame.Visit) error {
	form := frame.Form{Values: v.Request.URL.Query()}
	q := query(&form)
	if !form.Sound() {
		return v.Redirect(frame.Address(pathPayments, frame.Without(form.Values, "done")), "")
	}
	name, most := f.name+"-"+v.Now().UTC().Format("20060102-150405"), csvMost
	if n, err := strconv.Atoi(v.Request.Header.Get(headerPart)); err == nil {
		most = max(1, min(n, csvPart))
	}
	q.Set("limit", strconv.Itoa(min(most, 100)))
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	cursor := v.Value("cursor")
	if cursor == "" {
		text.WriteString(csvMark)
		_ = w.Write(f.columns) // a buffer takes everything
	}
	payments, rows := 0, 0
	for {
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		var found page
		if err := v.Get(apiPayments, q, &found); err != nil {
			return err
		}
		for _, p := range found.Data {
			of, err := f.rows(v, p)
			if err != nil {
				return err
			}
			_ = w.WriteAll(of)
			rows += len(of)
		}
		payments += len(found.Data)
		if cursor = found.NextCursor; cursor == "" {
			break
		}
		if w.Flush(); payments >= most || text.Len() >= csvBytes {
			v.Writer.Header().Set(headerNext, cursor)
			name += "-first-" + strconv.Itoa(payments)
			break
		}
	}
	w.Flush()
	v.Writer.Header().Set(headerPayments, strconv.Itoa(payments))
	v.Writer.Header().Set(headerRows, strconv.Itoa(rows))
	v.Download(name+".csv", "text/csv; charset=utf-8")
	if _, err := v.Writer.Write(text.Bytes()); err != nil {
		return frame.Gone{Err: err}
	}
	return nil
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
