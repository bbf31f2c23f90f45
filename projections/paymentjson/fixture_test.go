package paymentjson

import (
	"encoding/binary"
	"flag"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

var update = flag.Bool("update", false, "write the golden files again")

const testAccount domain.AccountID = "acct1"

var start = time.Date(2026, 3, 14, 9, 26, 53, 589_000_000, time.UTC)

var card = domain.NewCard("4111111111111111", "12", "2030", true)

func paymentID(n int) domain.PaymentID {
	var b [16]byte
	binary.BigEndian.PutUint64(b[8:], uint64(n)*0x9e3779b97f4a7c15)
	return domain.NewPaymentID(b)
}
func createCommand(at time.Time, n int) payment.Create {
	amount := domain.Amount(1000 + n)
	return payment.Create{
		At: at, ID: paymentID(n), Account: testAccount, OrderID: fmt.Sprintf("order-%d", n), CustomerID: "customer-7",
		Currency: "EUR", Amount: &amount, Metadata: domain.Metadata{"shop": "north", "attempt": int64(2), "gift": true},
		Method: payment.Method{
			Token: domain.Token(fmt.Sprintf("01token%d", n)), Type: instrument.MethodCard, AuthorizationType: "FINAL",
			Descriptor: "NORTH SHOP", AnalyticsID: "22222222-0000-4000-8000-000000000001", Card: card,
		},
		Session: "11111111-0000-4000-8000-000000000001", IdempotencyKey: fmt.Sprintf("key-%d", n),
		Route: []payment.Target{{Processor: processor.Adyen, MerchantID: "north-adyen"}},
	}
}
func approved() processor.Answer {
	return processor.Answer{
		State: processor.Succeeded, ProcessorTransactionID: "ptx-1", ProcessorEventID: "pev-1", AuthorizationCode: "A1B2C3",
		Bin:  &processor.BinData{IssuerCountryCode: "US", IssuerName: "First Bank", AccountFundingType: "CREDIT", ProductCode: "F", ProductName: "Visa Classic"},
		Risk: &processor.Risk{CVVSource: "ADYEN", CVVResult: "MATCHED", FraudSource: "ADYEN", FraudPre: "ACCEPT", AVSSource: "ADYEN", AVSStreet: "MATCHED", AVSPostalCode: "MATCHED"},
	}
}
