package export

import "time"

// Row types are the tables of an export. The tag parquet names a column and its logical type; a
// column that is optional is null, or empty in CSV, where its Go value is zero. The tag doc is the
// column's meaning in the guide tables.md. A field tagged key belongs to the row's primary key.
//
// Amounts are minor units of currency, which has exponent decimal digits: 1050 EUR with exponent 2
// is 10.50 EUR. Times are UTC. Position is the place of an event in the log.

// EventRow is one event of the log.
type EventRow struct {
	Position    int64     `parquet:"position" key:"1" doc:"Place in the order of the whole log, from 1, without gaps unless the export covers one of several accounts."`
	ID          string    `parquet:"id" doc:"Unique id of the event (CloudEvents id)."`
	Time        time.Time `parquet:"time,timestamp(microsecond)" doc:"Time at which the event was recorded."`
	Type        string    `parquet:"type,dict" doc:"Type, such as payment.captured."`
	Account     string    `parquet:"account_id,dict" doc:"Merchant account."`
	Aggregate   string    `parquet:"aggregate,dict" doc:"Kind of the aggregate: payment, dispute, session and others."`
	AggregateID string    `parquet:"aggregate_id" doc:"Id of the aggregate; of a session or an instrument the fingerprint of its id."`
	Revision    int64     `parquet:"revision" doc:"Number of the event within its aggregate, from 1, without gaps."`
	Actor       string    `parquet:"actor,dict" doc:"Who caused the event, such as api_key:ID, processor:NAME or workflow:ID."`
	Hash        string    `parquet:"hash" doc:"SHA-256 of the event, chained with the aggregate's previous event, hexadecimal."`
	Event       string    `parquet:"event,json" doc:"The recorded fact, JSON, with the fields of the type."`
}

// PaymentRow is one payment after its newest exported event.
type PaymentRow struct {
	ID                  string    `parquet:"id" key:"1" doc:"Id of the payment."`
	Position            int64     `parquet:"position" doc:"Position of the newest exported event of the payment. If several files have the payment, the row with the highest position counts."`
	Account             string    `parquet:"account_id,dict" doc:"Merchant account."`
	Revision            int64     `parquet:"revision" doc:"Number of the payment's newest exported event."`
	CreatedAt           time.Time `parquet:"created_at,timestamp(microsecond)" doc:"Time of creation."`
	UpdatedAt           time.Time `parquet:"updated_at,timestamp(microsecond)" doc:"Time of the newest change."`
	AuthorizedAt        time.Time `parquet:"authorized_at,optional,timestamp(microsecond)" doc:"Time of the first successful authorization."`
	CapturedAt          time.Time `parquet:"captured_at,optional,timestamp(microsecond)" doc:"Time of the first confirmed capture."`
	Status              string    `parquet:"status,dict" doc:"Status: PENDING, AUTHORIZED, SETTLING, PARTIALLY_SETTLED, SETTLED, DECLINED, FAILED or CANCELLED."`
	OrderID             string    `parquet:"order_id" doc:"The merchant's order id."`
	CustomerID          string    `parquet:"customer_id,optional" doc:"The merchant's id of the customer."`
	Currency            string    `parquet:"currency,dict" doc:"Currency, ISO 4217."`
	Exponent            int64     `parquet:"exponent" doc:"Decimal digits of the currency's minor unit."`
	Amount              int64     `parquet:"amount" doc:"Authorized or requested amount."`
	AmountHeld          int64     `parquet:"amount_held" doc:"Authorized and not yet captured or released."`
	AmountCaptured      int64     `parquet:"amount_captured" doc:"Confirmed captures."`
	AmountRefunded      int64     `parquet:"amount_refunded" doc:"Confirmed refunds."`
	Processor           string    `parquet:"processor,optional,dict" doc:"Processor of the newest authorization."`
	ProcessorMerchantID string    `parquet:"processor_merchant_id,optional,dict" doc:"The merchant's account at the processor."`
	PaymentMethodType   string    `parquet:"payment_method_type,dict" doc:"Kind of payment method, such as PAYMENT_CARD."`
	Network             string    `parquet:"network,optional,dict" doc:"Card network."`
	ReasonType          string    `parquet:"reason_type,optional,dict" doc:"Kind of the reason for DECLINED or FAILED."`
	DeclineType         string    `parquet:"decline_type,optional,dict" doc:"SOFT_DECLINE or HARD_DECLINE."`
	DeclineCode         string    `parquet:"decline_code,optional,dict" doc:"Unified decline code, such as INSUFFICIENT_FUNDS."`
	SessionID           string    `parquet:"session_id,optional" doc:"Fingerprint of the id of the client session that made the payment, as in events.aggregate_id of the session's events."`
	Country             string    `parquet:"country,optional,dict" doc:"Country of the order, ISO 3166-1 alpha-2."`
	Metadata            string    `parquet:"metadata,optional,json" doc:"The merchant's metadata, a JSON object."`
	ThreeDSecure        string    `parquet:"three_d_secure,optional,dict" doc:"Outcome of 3-D Secure: the response code of the customer's authentication."`
	FraudBefore         string    `parquet:"fraud_check_before,optional,dict" doc:"Result of the fraud check before the authorization."`
	FraudAfter          string    `parquet:"fraud_check_after,optional,dict" doc:"Result of the fraud check after the authorization."`
	CVVCheck            string    `parquet:"cvv_check,optional,dict" doc:"Result of the check of the card verification value."`
	AVSStreet           string    `parquet:"avs_street_check,optional,dict" doc:"Result of the check of the street."`
	AVSPostalCode       string    `parquet:"avs_postal_code_check,optional,dict" doc:"Result of the check of the postal code."`
}

// TransactionRow is one authorization (SALE) or refund (REFUND) of a payment at a processor.
type TransactionRow struct {
	Payment                string    `parquet:"payment_id" key:"1" doc:"Id of the payment."`
	Number                 int64     `parquet:"number" key:"2" doc:"Number within the payment at this position, from 1: sales by request, then refunds by their last answer."`
	Position               int64     `parquet:"position" doc:"Equals payments.position: only rows with their payment's highest position count."`
	Account                string    `parquet:"account_id,dict" doc:"Merchant account."`
	Type                   string    `parquet:"type,dict" doc:"SALE or REFUND."`
	RequestedAt            time.Time `parquet:"requested_at,timestamp(microsecond)" doc:"Time of the request."`
	Status                 string    `parquet:"status,dict" doc:"Status that this transaction alone reached, as a payment status."`
	Currency               string    `parquet:"currency,dict" doc:"Currency, ISO 4217."`
	Exponent               int64     `parquet:"exponent" doc:"Decimal digits of the currency's minor unit."`
	Amount                 int64     `parquet:"amount" doc:"Amount of the transaction."`
	OrderID                string    `parquet:"order_id,optional" doc:"Order id of the transaction, by default the payment's."`
	Processor              string    `parquet:"processor,dict" doc:"Processor."`
	ProcessorMerchantID    string    `parquet:"processor_merchant_id,optional,dict" doc:"The merchant's account at the processor."`
	ProcessorTransactionID string    `parquet:"processor_transaction_id,optional" doc:"The processor's id of the transaction."`
	ReasonType             string    `parquet:"reason_type,optional,dict" doc:"Kind of the reason for an unsuccessful status."`
	DeclineType            string    `parquet:"decline_type,optional,dict" doc:"SOFT_DECLINE or HARD_DECLINE."`
	DeclineCode            string    `parquet:"decline_code,optional,dict" doc:"Unified decline code, such as INSUFFICIENT_FUNDS."`
}

// RefundRow is one refund of a payment.
type RefundRow struct {
	Payment                string    `parquet:"payment_id" key:"1" doc:"Id of the payment."`
	Number                 int64     `parquet:"number" key:"2" doc:"Equals transactions.number."`
	Position               int64     `parquet:"position" doc:"Equals payments.position: only rows with their payment's highest position count."`
	Account                string    `parquet:"account_id,dict" doc:"Merchant account."`
	RequestedAt            time.Time `parquet:"requested_at,timestamp(microsecond)" doc:"Time of the request."`
	Status                 string    `parquet:"status,dict" doc:"SETTLED, PENDING or FAILED."`
	Currency               string    `parquet:"currency,dict" doc:"Currency, ISO 4217."`
	Exponent               int64     `parquet:"exponent" doc:"Decimal digits of the currency's minor unit."`
	Amount                 int64     `parquet:"amount" doc:"Amount of the refund."`
	OrderID                string    `parquet:"order_id,optional" doc:"Order id of the refund, by default the payment's."`
	Reason                 string    `parquet:"reason,optional" doc:"The merchant's reason."`
	Processor              string    `parquet:"processor,dict" doc:"Processor."`
	ProcessorTransactionID string    `parquet:"processor_transaction_id,optional" doc:"The processor's id of the refund."`
}

// DisputeRow is one dispute after its newest exported event.
type DisputeRow struct {
	ID                 string    `parquet:"id" key:"1" doc:"Id of the dispute."`
	Position           int64     `parquet:"position" doc:"Position of the newest exported event of the dispute. If several files have the dispute, the row with the highest position counts."`
	Account            string    `parquet:"account_id,dict" doc:"Merchant account."`
	Payment            string    `parquet:"payment_id" doc:"Id of the disputed payment."`
	OrderID            string    `parquet:"order_id" doc:"Order id of the disputed payment."`
	OpenedAt           time.Time `parquet:"opened_at,timestamp(microsecond)" doc:"Time at which the dispute was recorded here."`
	UpdatedAt          time.Time `parquet:"updated_at,timestamp(microsecond)" doc:"Time of the newest recorded change."`
	Type               string    `parquet:"type,dict" doc:"RETRIEVAL, DISPUTE or PREARBITRATION."`
	Status             string    `parquet:"status,dict" doc:"Status of the stage, such as OPEN, CHALLENGED, WON or LOST."`
	Reason             string    `parquet:"reason,optional,dict" doc:"Unified reason."`
	ReasonCode         string    `parquet:"reason_code,dict" doc:"The network's reason code."`
	Currency           string    `parquet:"currency,dict" doc:"Currency, ISO 4217."`
	Exponent           int64     `parquet:"exponent" doc:"Decimal digits of the currency's minor unit."`
	Amount             int64     `parquet:"amount" doc:"Disputed amount."`
	AmountWithheld     int64     `parquet:"amount_withheld" doc:"Part of the amount that the processor withholds at this stage: the whole amount of a chargeback that is not won or cancelled, else 0."`
	Processor          string    `parquet:"processor,dict" doc:"Processor."`
	ProcessorDisputeID string    `parquet:"processor_dispute_id" doc:"The processor's id of the dispute."`
}

// DeliveryRow is one webhook for one endpoint after its newest exported record.
type DeliveryRow struct {
	ID             string    `parquet:"id" key:"1" doc:"Id of the delivery, as in the management API."`
	Place          int64     `parquet:"place" doc:"Place of the newest exported record of the delivery, in the order of the records of all deliveries; no position of an event. If several files have the delivery, the row with the highest place counts."`
	Account        string    `parquet:"account_id,dict" doc:"Merchant account."`
	Endpoint       string    `parquet:"endpoint_id,dict" doc:"Id of the webhook endpoint."`
	Type           string    `parquet:"event_type,dict" doc:"Type of the webhook, such as PAYMENT.STATUS."`
	EventID        string    `parquet:"event_id" doc:"Equals events.id of the event that the webhook tells about."`
	Payment        string    `parquet:"payment_id,optional" doc:"Id of the payment, for webhooks about a payment."`
	Dispute        string    `parquet:"dispute_id,optional" doc:"Id of the dispute, for webhooks about a dispute."`
	PlannedAt      time.Time `parquet:"planned_at,timestamp(microsecond)" doc:"Time at which the webhook was planned."`
	Status         string    `parquet:"status,dict" doc:"Outcome: PLANNED, FAILED (a further attempt follows), SUCCEEDED, EXHAUSTED or CANCELLED."`
	Attempts       int64     `parquet:"attempts" doc:"Number of attempts with a recorded outcome, also those that a person or a replay requested."`
	Failed         int64     `parquet:"failed_attempts" doc:"Number of these that failed."`
	FirstAttemptAt time.Time `parquet:"first_attempt_at,optional,timestamp(microsecond)" doc:"Begin of the first attempt."`
	LastAttemptAt  time.Time `parquet:"last_attempt_at,optional,timestamp(microsecond)" doc:"Begin of the newest attempt."`
	DeliveredAt    time.Time `parquet:"delivered_at,optional,timestamp(microsecond)" doc:"Time at which the first successful attempt was answered."`
	NextAttemptAt  time.Time `parquet:"next_attempt_at,optional,timestamp(microsecond)" doc:"Time at which the next attempt is due, for FAILED."`
	LastStatus     int64     `parquet:"last_status_code,optional" doc:"HTTP status of the answer to the newest attempt; null without an answer."`
	LastFailure    string    `parquet:"last_failure,optional,dict" doc:"Why the newest attempt failed, such as TIMEOUT or STATUS."`
}

// EntryRow is one line of a double-entry posting.
type EntryRow struct {
	Position  int64     `parquet:"position" key:"1" doc:"Position of the event that moved the money."`
	Line      int64     `parquet:"line" key:"2" doc:"Number of the line within the event, from 1."`
	Time      time.Time `parquet:"time,timestamp(microsecond)" doc:"Time of the event."`
	Account   string    `parquet:"account_id,dict" doc:"Merchant account."`
	Payment   string    `parquet:"payment_id" doc:"Id of the payment."`
	Dispute   string    `parquet:"dispute_id,optional" doc:"Id of the dispute, for lines of a dispute."`
	Ledger    string    `parquet:"ledger_account,dict" doc:"holds, authorizations, receivable, sales, refunds or disputes."`
	Processor string    `parquet:"processor,dict" doc:"Processor that holds or owes the money."`
	Currency  string    `parquet:"currency,dict" doc:"Currency, ISO 4217."`
	Exponent  int64     `parquet:"exponent" doc:"Decimal digits of the currency's minor unit."`
	Debit     int64     `parquet:"debit" doc:"Debited amount; 0 for a credit."`
	Credit    int64     `parquet:"credit" doc:"Credited amount; 0 for a debit."`
}
