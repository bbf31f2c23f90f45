package domain

// Failure is the broad reason of a status (D6, enums: statusReasonType).
type Failure string

const (
	ApplicationError Failure = "APPLICATION_ERROR" // the processor could not process it
	GatewayRejected  Failure = "GATEWAY_REJECTED"  // the processor refused it
	GatewayTimeout   Failure = "GATEWAY_TIMEOUT"   // no answer in time; the work goes on (D8)
	IssuerDeclined   Failure = "ISSUER_DECLINED"
)
