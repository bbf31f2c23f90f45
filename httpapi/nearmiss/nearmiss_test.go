package nearmiss

import (
	"strings"
	"testing"
)

// TestOf: names that people write for others, and names that are none of them.
func TestOf(t *testing.T) {
	t.Parallel()
	payment := []string{"amount", "currencyCode", "customer", "customerId", "metadata", "order", "orderId", "paymentMethodToken", "paymentMethod", "expand"}
	query := []string{"at", "after", "limit", "order_id", "from_date", "status"}
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"orderID", payment, "orderId"},
		{"order_id", payment, "orderId"},
		{"OrderId", payment, "orderId"},
		{"oderId", payment, "orderId"},
		{"ordreId", payment, "orderId"},
		{"orders", payment, "order"},
		{"amonut", payment, "amount"},
		{"amounnt", payment, "amount"},
		{"currency", payment, "currencyCode"},
		{"curencyCode", payment, "currencyCode"},
		{"payment_method_token", payment, "paymentMethodToken"},
		{"methodToken", payment, "paymentMethodToken"},
		{"meta-data", payment, "metadata"},
		{"orderId", query, "order_id"},
		{"Status", query, "status"},
		{"fromDate", query, "from_date"},
		{"colour", payment, ""},
		{"id", payment, ""},
		{"payment", payment, ""}, // of two: which?
		{"to", query, ""},
		{"as", query, ""},
		{"", payment, ""},
		{"é", payment, ""},
		{strings.Repeat("orderId", 20), payment, ""},
	} {
		if got := Of(c.word, c.known); got != c.want {
			t.Errorf("%q is %q, want %q", c.word, got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"ca", "abc", 3}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
