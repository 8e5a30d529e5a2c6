// How a run ends: the one place that decides whether a report may end happily.
#pragma once

#include "lib/diagnose/diagnosis.h"

namespace md {

enum class Ending {
  none,        ///< nothing is claimed: nothing was rewritten, the target has no table, or the run failed
  accepted,    ///< the target should take the whole graph, nothing fatal is left, the whole compared equal
  uncompared,  ///< the same, but the whole was not compared (Diagnosis::not_compared says why)
  unequal,     ///< the same, but the whole computes other numbers than before
  unsettled,   ///< the table objects to nothing, yet a fatal finding or an unexplained line is left
  refused      ///< the target would still refuse the rewritten model
};

template <>
inline constexpr std::array<Word<Ending>, 5> kWords<Ending> = {{{Ending::accepted, "accepted"},
                                                                {Ending::uncompared, "uncompared"},
                                                                {Ending::unequal, "unequal"},
                                                                {Ending::unsettled, "unsettled"},
                                                                {Ending::refused, "refused"}}};

/// A happy end needs all three: nothing fatal left, nothing unexplained, the whole compared. Asks `after`, so
/// settle() comes first.
Ending ending_of(const Diagnosis& diagnosis);

/// For gates that want the whole compared (--require-proof): a model that was rewritten and not compared, or
/// that computes other numbers as a whole, is `findings` with exit code 1.
void require_comparison(Diagnosis& diagnosis);

}  // namespace md
