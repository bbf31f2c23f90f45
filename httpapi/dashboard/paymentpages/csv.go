package paymentpages

import (
	"encoding/csv"
	"io"
	"net/http"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
	"payledger/projections/csvtext"
)

// csvMost is the greatest number of payments in a CSV file. `payledger export` has no limit.
const csvMost = 20_000

var csvColumns = []string{
	"id", "created_utc", "updated_utc", "status", "reason", "order_id", "customer_id", "currency", "amount", "captured", "refunded",
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

// export serves the filtered list as CSV. The file ends with a line that says so if there are more
// than csvMost payments. An error in its middle cuts the connection, so that nobody takes a part
// for the whole.
func export(v *frame.Visit) error {
	form := frame.Form{Values: v.Request.URL.Query()}
	q := query(&form)
	if !form.Sound() {
		return v.Redirect(frame.Address(pathPayments, frame.Without(form.Values, "done")), "")
	}
	q.Set("limit", "100")
	var w *csv.Writer
	for written := 0; ; {
		var found page
		if err := v.Get(apiPayments, q, &found); err != nil {
			if w != nil {
				panic(http.ErrAbortHandler)
			}
			return err
		}
		if w == nil {
			w = begin(v)
		}
		for _, p := range found.Data {
			if err := w.Write(row(p)); err != nil {
				return frame.Gone{Err: err}
			}
		}
		written += len(found.Data)
		if found.NextCursor != "" && written >= csvMost {
			_ = w.Write([]string{"The list ends here, at its limit of " + strconv.Itoa(csvMost) + " payments. Filter it, or use payledger export."}) // Flush has the error
			found.NextCursor = ""
		}
		if found.NextCursor == "" {
			break
		}
		q.Set("cursor", found.NextCursor)
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return frame.Gone{Err: err}
	}
	return nil
}

func begin(v *frame.Visit) *csv.Writer {
	v.Download("payments-"+v.Now().UTC().Format("20060102-150405")+".csv", "text/csv; charset=utf-8")
	_, _ = io.WriteString(v.Writer, csvMark) // Flush has the error
	w := csv.NewWriter(v.Writer)
	_ = w.Write(csvColumns) // Flush has the error
	return w
}

func row(p summary) []string {
	cells := []string{
		p.ID, p.Date.UTC().Format(csvTime), p.DateUpdated.UTC().Format(csvTime), p.Status, p.Reason(), p.OrderID, p.CustomerID,
		string(p.CurrencyCode), units(p.Amount, p.CurrencyCode), units(0, p.CurrencyCode), units(0, p.CurrencyCode), p.PaymentMethodType, p.Card(), "", "",
	}
	if p.Processor != nil {
		cells[9], cells[10] = units(p.Processor.AmountCaptured, p.CurrencyCode), units(p.Processor.AmountRefunded, p.CurrencyCode)
		cells[13], cells[14] = string(p.Processor.Name), p.Processor.ProcessorMerchantID
	}
	for i := range cells {
		cells[i] = csvtext.Escape(cells[i])
	}
	return cells
}
