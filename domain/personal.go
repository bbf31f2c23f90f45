package domain

import (
	"cmp"
	"fmt"
	"maps"
	"time"
)

// Sealed is personal data in the log: encrypted under the named key, so that destroying the key
// erases the data everywhere. The rules never open it.
type Sealed struct {
	Key SecretID `json:"key"` // names the person's keys in the stream of secrets
	Box []byte   `json:"box"` // nonce and AES-256-GCM ciphertext
	// KeyNumber tells the person's keys apart: after an erasure, data is sealed under the next one.
	// 0 is the first key, 2 the second.
	KeyNumber uint64 `json:"keyNumber,omitempty"`
	// EmailHash finds the customer's payments by e-mail address (D11): a keyed hash, of which
	// nothing can be read without the ledger's master key. It outlives the key; readers show
	// nothing by it that does not open.
	EmailHash string `json:"emailHash,omitempty"`
}

// Personal is all personal data of a session, an instrument or a payment. It is sealed as one
// value.
type Personal struct {
	Customer       *Customer `json:"customer,omitempty"`
	CardholderName string    `json:"cardholderName,omitempty"`
}

// Empty reports whether there is no personal data.
func (p Personal) Empty() bool { return p.Customer == nil && p.CardholderName == "" }

// Customer is the person who pays (§2.1, D4).
type Customer struct {
	Email              string   `json:"email,omitempty"`
	MobileNumber       string   `json:"mobileNumber,omitempty"`
	FirstName          string   `json:"firstName,omitempty"`
	LastName           string   `json:"lastName,omitempty"`
	TaxID              string   `json:"taxId,omitempty"`
	NationalDocumentID string   `json:"nationalDocumentId,omitempty"`
	BillingAddress     *Address `json:"billingAddress,omitempty"`
	ShippingAddress    *Address `json:"shippingAddress,omitempty"`
}

// Address is a postal address; CountryCode is ISO 3166-1 alpha-2.
type Address struct {
	FirstName    string `json:"firstName,omitempty"`
	LastName     string `json:"lastName,omitempty"`
	AddressLine1 string `json:"addressLine1,omitempty"`
	AddressLine2 string `json:"addressLine2,omitempty"`
	City         string `json:"city,omitempty"`
	State        string `json:"state,omitempty"`
	CountryCode  string `json:"countryCode,omitempty"`
	PostalCode   string `json:"postalCode,omitempty"`
}

// MergeCustomer lays over onto base field by field (D5).
func MergeCustomer(base, over *Customer) *Customer {
	if base == nil || over == nil {
		return cmp.Or(over, base)
	}
	return &Customer{
		Email:              cmp.Or(over.Email, base.Email),
		MobileNumber:       cmp.Or(over.MobileNumber, base.MobileNumber),
		FirstName:          cmp.Or(over.FirstName, base.FirstName),
		LastName:           cmp.Or(over.LastName, base.LastName),
		TaxID:              cmp.Or(over.TaxID, base.TaxID),
		NationalDocumentID: cmp.Or(over.NationalDocumentID, base.NationalDocumentID),
		BillingAddress:     mergeAddress(base.BillingAddress, over.BillingAddress),
		ShippingAddress:    mergeAddress(base.ShippingAddress, over.ShippingAddress),
	}
}

func mergeAddress(base, over *Address) *Address {
	if base == nil || over == nil {
		return cmp.Or(over, base)
	}
	return &Address{
		FirstName:    cmp.Or(over.FirstName, base.FirstName),
		LastName:     cmp.Or(over.LastName, base.LastName),
		AddressLine1: cmp.Or(over.AddressLine1, base.AddressLine1),
		AddressLine2: cmp.Or(over.AddressLine2, base.AddressLine2),
		City:         cmp.Or(over.City, base.City),
		State:        cmp.Or(over.State, base.State),
		CountryCode:  cmp.Or(over.CountryCode, base.CountryCode),
		PostalCode:   cmp.Or(over.PostalCode, base.PostalCode),
	}
}

// Metadata is the merchant's free-form data: string, int64 or bool by non-empty key (D4).
type Metadata map[string]any

// MergeMetadata lays over onto base by key.
func MergeMetadata(base, over Metadata) Metadata {
	if len(base) == 0 {
		return over
	}
	merged := maps.Clone(base)
	maps.Copy(merged, over)
	return merged
}

// Limits of metadata (D4).
const (
	MaxMetadataKeys  = 64
	MaxMetadataBytes = 4 << 10
)

// Size returns the bytes of the keys and the values, without JSON's own characters.
func (m Metadata) Size() (size int) {
	for key, value := range m {
		size += len(key) + len(fmt.Sprint(value))
	}
	return size
}

// Fault returns the limit that the metadata exceeds; "" for none.
func (m Metadata) Fault() string {
	switch {
	case len(m) > MaxMetadataKeys:
		return fmt.Sprintf("must have at most %d keys", MaxMetadataKeys)
	case m.Size() > MaxMetadataBytes:
		return fmt.Sprintf("must be at most %d bytes in all", MaxMetadataBytes)
	default:
		return ""
	}
}

// LinkedSession is a client session that belongs to a customer since a time.
type LinkedSession struct {
	ID    SessionID
	Since time.Time
}
