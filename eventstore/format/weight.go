package format

import (
	"payledger/domain"
	"payledger/domain/payment"
)

// Rough sizes in memory, in bytes and without texts: an operation, the hash of a key, details, an
// item of an order, a fee.
const operationSize, keySize, detailsSize, itemSize, feeSize = 600, 80, 600, 300, 50

const preferencesSize = 32 << 10 // about what the options of a payment method take in memory at most (D21)

// Weight estimates the memory of the parts moved out of the event's state, in bytes. Recorded
// events share these parts.
func (r *Recorded) Weight() int {
	s, ok := r.state.(payment.State)
	if !ok || s.Past == nil {
		return 0
	}
	n := s.Past.Operations*operationSize + s.Past.KeyHashes*keySize
	if d := s.Past.Details; d != nil {
		n += detailsSize + orderWeight(d.Order)
		if d.Preferences != nil {
			n += preferencesSize
		}
		if d.Personal != nil {
			n += len(d.Personal.Box)
		}
	}
	return n
}

func orderWeight(o *domain.Order) (n int) {
	if o == nil {
		return 0
	}
	for i := range o.LineItems {
		item := &o.LineItems[i]
		n += itemSize + len(item.ItemID) + len(item.Name) + len(item.Description) + len(item.TaxCode)
		if p := item.ProductData; p != nil {
			n += len(p.SKU) + len(p.Brand) + len(p.Color) + len(p.GlobalTradeItemNumber) + len(p.ManufacturerPartNumber) + len(p.PageURL)
		}
	}
	for i := range o.Fees {
		n += feeSize + len(o.Fees[i].Type) + len(o.Fees[i].Description)
	}
	if s := o.Shipping; s != nil {
		n += len(s.MethodID) + len(s.MethodName) + len(s.MethodDescription)
	}
	return n
}
