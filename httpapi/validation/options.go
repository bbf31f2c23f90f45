package validation

import (
	"bytes"
	"encoding/json"
	"fmt"

	"payledger/domain"
	"payledger/domain/session"
)

func (d *Document) options() domain.JSON {
	method, _ := d.Tree["paymentMethod"].(map[string]any)
	if method["options"] == nil {
		return ""
	}
	var body struct {
		PaymentMethod domain.Preferences `json:"paymentMethod"`
	}
	_ = json.Unmarshal(d.Text, &body) // a field of another type is left out: the schema reports it
	return body.PaymentMethod.Options
}

const maxOptionsBytes = 8 << 10

// ofOptions adds violations for card numbers in options and for options that are too large (D21). It does not measure the options
// of a change, which may remove fields: OptionsSize measures the merged options.
func (v *Violations) ofOptions(text domain.JSON, change bool) {
	if text == "" {
		return
	}
	if !change {
		v.OptionsSize(compacted(text))
	}
	value, err := ExactTree([]byte(`{"options":` + text + `}`))
	if err != nil {
		v.Add(options.path(true), "is not valid")
		return
	}
	v.ofText(options, value["options"])
}

// OptionsSize adds a violation if the stored options are too large.
func (v *Violations) OptionsSize(stored domain.JSON) {
	if len(stored) > maxOptionsBytes {
		v.Add(options.path(true), fmt.Sprintf("must be at most %d bytes of JSON", maxOptionsBytes))
	}
}

// Compact returns a payment method whose options have no white space, as they are stored (D21).
func Compact(m session.Method) session.Method {
	m.Options = compacted(m.Options)
	return m
}

func compacted(text domain.JSON) domain.JSON {
	var b bytes.Buffer
	if text == "" || json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return domain.JSON(b.String())
}
