// Package notifications applies the messages that processors send by themselves: results of
// operations, and disputes (D14, D16).
//
// An unsolicited notification (a result, a dispute) is first stored in the inbox of its payment
// reference, once by the processor's event id (inbox.received, D14.5). The service then applies it
// to the payment or the dispute (inbox.applied, D14.6; inbox.rejected, D14.7), and acknowledges it.
// After a crash in between, the notification is pending and is applied. A second application
// changes nothing, because its content is recorded once. A notification that cannot be applied yet
// stays pending. This node applies it after the payment's next event here, and every node tries
// periodically. A notification that contradicts the recorded outcome is rejected with a warning,
// decided on the payment's newest state, so that the order of arrival at the nodes does not matter.
// A full inbox stores nothing more; a dispute's notification is then applied without being stored
// (D14.10).
//
// If the notification of a result is lost, the look-ups of the operation find the result.
// SweepDisputesAt finds lost notifications of disputes: it asks a processor for those since a
// cursor. (A look-up for each payment would be unbounded: payments can be disputed for months.) A
// sweep costs one look-up per processor, and one load per new dispute event. The cursor is in
// memory; inbox.swept records the time read so far, every ten minutes of processor time. A restart
// resumes one hour before that time.
//
// The package must not know: HTTP, signatures of messages (httpapi verifies them), how package
// payments asks processors.
package notifications
