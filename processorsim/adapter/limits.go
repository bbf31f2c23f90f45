package adapter

import (
	"reflect"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// withoutExcess cuts the texts of an answer that stay in the payment, and drops an id of the answer
// that breaks its limit: they say nothing about money, so that the rest of the answer counts. It
// changes what the answer points to.
func withoutExcess(a processor.Answer) processor.Answer {
	a.Message = domain.Beginning(a.Message, protocol.MaxMessage)
	for _, text := range []*string{&a.Code, &a.AuthorizationCode} {
		*text = domain.Beginning(*text, protocol.MaxText)
	}
	for _, facts := range []reflect.Value{reflect.ValueOf(a.Bin).Elem(), reflect.ValueOf(a.Risk).Elem()} {
		for i := 0; facts.IsValid() && i < facts.NumField(); i++ {
			if text := facts.Field(i).String(); len(text) > protocol.MaxText {
				facts.Field(i).SetString(domain.Beginning(text, protocol.MaxText))
			}
		}
	}
	if !optionalID(a.ProcessorEventID) {
		a.ProcessorEventID = ""
	}
	return a
}

// optionalID reports whether an id is absent, or within the limit of the processor's ids.
func optionalID(id string) bool { return id == "" || plainText(id, maxTransactionID) }
