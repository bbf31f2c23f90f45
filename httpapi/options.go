package httpapi

import (
	"encoding/json"

	"payledger/domain"
)

// options returns the options of the body's payment method as they are written there (D21), "" for none.
func (d *document) options() domain.JSON {
	method, _ := d.tree["paymentMethod"].(map[string]any)
	if method["options"] == nil {
		return ""
	}
	var body struct {
		PaymentMethod domain.Preferences `json:"paymentMethod"`
	}
	_ = json.Unmarshal(d.text, &body) // a field that does not fit is left out: the schema names it
	return body.PaymentMethod.Options
}

// ofOptions refuses card numbers in options (D21): in the text that would be stored, not in a tree whose numbers are float64s.
func (v *violations) ofOptions(text domain.JSON) {
	if text == "" {
		return
	}
	value, err := exactTree([]byte(`{"options":` + text + `}`))
	if err != nil {
		v.add(options.path(true), "is not valid")
		return
	}
	v.ofText(options, value["options"])
}
