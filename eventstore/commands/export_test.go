package commands

// Spent is how many cards wait to be destroyed.
func (s *Service) Spent() int { return len(s.spent) }

// Flying is how many operations this process works on now.
func (s *Service) Flying() int { return len(s.inFlight.all()) }

// QuestionsAtOnce is the number of the agenda's concurrent questions to one processor.
const QuestionsAtOnce = questionsAtOnce
