#include "polykern/sim/kept_repetitions.h"

#include "polykern/results/result.h"

namespace polykern {

std::string KeptRepetitions::Settings(const Row& row, std::size_t repetition) const {
  return data_ + RowSettings(row, options_) + " repetition " + std::to_string(repetition);
}

std::optional<Repetition> KeptRepetitions::Find(const Row& row, std::size_t repetition) const {
  if (store_ == nullptr) return std::nullopt;
  std::string damaged;  // is run again
  const auto text = store_->Find(row.algorithm, Settings(row, repetition), damaged);
  return text ? ParseRepetition(*text) : std::nullopt;
}

void KeptRepetitions::Keep(const Row& row, std::size_t repetition, const Repetition& run) const {
  if (store_ == nullptr) return;
  store_->Keep(row.algorithm, Settings(row, repetition), RepetitionText(run));
}

void KeptRepetitions::Forget(const Row& row) const {
  if (store_ == nullptr) return;
  for (std::size_t repetition = 0; repetition < options_.repetitions; ++repetition) {
    store_->Forget(row.algorithm, Settings(row, repetition));
  }
}

}  // namespace polykern
