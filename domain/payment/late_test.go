package payment_test

import (
	"testing"

	"payledger/domain/payment"
	"payledger/domain/processor"
)

// TestContradiction checks which answers contradict the recorded operation. An equal answer, an
// older answer and an answer that is not recorded yet do not contradict it (D7).
func TestContradiction(t *testing.T) {
	const (
		approved = "create amount=1250 currency=EUR order=order-1 to=ADYEN; answer 1 SUCCEEDED transaction=t-1"
		created  = "create amount=1250 currency=EUR order=order-1 to=ADYEN"
		other    = "The processor's transaction id of the authorize differs from the recorded one."

		otherCapture    = "The processor's transaction id of the capture differs from the recorded one."
		otherCompletion = "The processor's transaction id of the complete differs from the recorded one."
	)
	for _, c := range []struct {
		path        string
		revision    uint64
		state       processor.State
		transaction string
		why         string
	}{
		{created, 1, processor.Succeeded, "t-1", ""},
		{created + "; answer 1 PENDING transaction=t-1", 1, processor.Succeeded, "t-1", ""},
		{created + "; answer 1 PENDING transaction=t-1", 1, processor.Succeeded, "t-2", other},
		{created + "; answer 1 PENDING transaction=t-1", 1, processor.Declined, "", ""},
		{created + "; answer 1 ACTION_REQUIRED transaction=t-1", 1, processor.Succeeded, "t-1", ""},
		{created + "; answer 1 DECLINED code=05", 1, processor.Declined, "", ""},
		{created + "; answer 1 DECLINED code=05", 1, processor.Pending, "t-1", ""},
		{created + "; answer 1 DECLINED code=05", 1, processor.Failed, "", "The authorize is already DECLINED and cannot be FAILED."},
		{created + "; answer 1 DECLINED code=05", 1, processor.Succeeded, "t-1", "The authorize is already DECLINED and cannot be SUCCEEDED."},
		{created + "; answer 1 FAILED code=error", 1, processor.Succeeded, "t-1", "The authorize is already FAILED and cannot be SUCCEEDED."},
		{created + "; answer 1 FAILED code=fenced", 1, processor.Succeeded, "t-1", ""},
		{approved, 1, processor.Succeeded, "t-1", ""},
		{approved, 1, processor.Succeeded, "t-2", other},
		{approved, 1, processor.Pending, "t-2", ""},
		{created + "; answer 1 PENDING transaction=t-1", 1, processor.ActionRequired, "t-2", other},
		{created + "; answer 1 PENDING transaction=t-1; cancel", 3, processor.Succeeded, "t-2", ""},
		{approved + "; capture; answer 3 PENDING transaction=t-3", 3, processor.Succeeded, "t-4", otherCapture},
		{approved + "; capture; answer 3 PENDING transaction=t-3", 3, processor.Failed, "t-4", ""},
		{approved + "; capture; outOfBand capture id=op-1 amount=5 transaction=t-9", 3, processor.Succeeded, "t-9", otherCapture},
		{created + "; answer 1 ACTION_REQUIRED transaction=t-1; resume 1 AUTHENTICATED", 3, processor.Succeeded, "t-2", otherCompletion},
		{created + "; answer 1 ACTION_REQUIRED transaction=t-1; resume 1 AUTHENTICATED", 3, processor.Pending, "t-2", otherCompletion},
		{approved, 1, processor.Failed, "", "The authorize is already SUCCEEDED and cannot be FAILED."},
		{approved + "; capture; answer 3 FAILED code=error", 3, processor.Declined, "", ""},
		{approved + "; capture; answer 3 SUCCEEDED transaction=t-3", 3, processor.Declined, "", "The capture is already SUCCEEDED and cannot be DECLINED."},
		{approved + "; capture; answer 3 FAILED code=error", 3, processor.Succeeded, "t-3", "The capture is already FAILED and cannot be SUCCEEDED."},
		{approved + "; capture; answer 3 FAILED code=fenced", 3, processor.Succeeded, "t-3", ""},
		{created + "; answer 1 PENDING transaction=t-1; cancel; answer 3 SUCCEEDED", 1, processor.Failed, "", ""},
		{created + "; answer 1 PENDING transaction=t-1; cancel; answer 3 SUCCEEDED", 1, processor.Succeeded, "t-1", ""},
		{created + "; answer 1 ACTION_REQUIRED transaction=t-1; resume 1 AUTHENTICATED; answer 3 DECLINED code=05", 3, processor.Succeeded, "t-1",
			"The complete is already DECLINED and cannot be SUCCEEDED."},
		{created + "; answer 1 ACTION_REQUIRED transaction=t-1; resume 1 AUTHENTICATED; answer 3 FAILED code=fenced", 3, processor.Succeeded, "t-1", ""},
	} {
		s := newStory()
		s.given(t, c.path)
		answer := processor.Answer{State: c.state, ProcessorTransactionID: c.transaction}
		if why := s.state.Contradiction(c.revision, answer); why != c.why {
			t.Errorf("%s; then %d %s: %q, not %q", c.path, c.revision, c.state, why, c.why)
		}
		_, err := payment.DecideAnswer(s.state, payment.RecordAnswer{Request: c.revision, Answer: answer})
		if c.why != "" && err == nil {
			t.Errorf("%s; then %d %s is recorded", c.path, c.revision, c.state)
		}
	}
}

// TestLateCompletion: the authorization has its result from a message before the processor gets the
// completion. A failure of the completion that decides nothing contradicts nothing then; another
// failure does.
func TestLateCompletion(t *testing.T) {
	for _, result := range []string{"SUCCEEDED transaction=t-1", "DECLINED code=05"} {
		s := newStory()
		s.given(t, "create amount=1250 currency=EUR order=order-1 to=ADYEN; answer 1 ACTION_REQUIRED transaction=t-1; resume 1 AUTHENTICATED; answer 1 "+result)
		for _, refusal := range []processor.Answer{{Code: processor.CodeNoAction}, {Code: processor.CodeFenced}, {Code: processor.CodeRejected, Retryable: true}} {
			refusal.State = processor.Failed
			if why := s.state.Contradiction(3, refusal); why != "" {
				t.Errorf("%s, then %s: %s", result, refusal.Code, why)
			}
		}
		if s.state.Contradiction(3, processor.Answer{State: processor.Failed, Code: processor.CodeRejected}) == "" {
			t.Errorf("%s: another failure is no contradiction", result)
		}
	}
}
