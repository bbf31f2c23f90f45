package commands

// Spent is how many cards wait to be destroyed.
func (s *Service) Spent() int { return len(s.spent) }

// Flying is how many operations this process works on now.
func (s *Service) Flying() int { return len(s.inFlight.all()) }

// QuestionsAtOnce is how many questions of the agenda one processor is asked at once.
const QuestionsAtOnce = questionsAtOnce
