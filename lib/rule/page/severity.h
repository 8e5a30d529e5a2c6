// What a page says of its fault and of its fix in a word.
#pragma once
#include "lib/base/words.h"

namespace md {

/// By consequence, ascending: worth knowing; slow; runs with wrong numbers; will not compile.
enum class Severity { note, perf, silent, fatal };
template <>
inline constexpr std::array<Word<Severity>, 4> kWords<Severity> = {{{Severity::fatal, "fatal"},
                                                                    {Severity::silent, "silent"},
                                                                    {Severity::perf, "perf"},
                                                                    {Severity::note, "note"}}};

/// Who is to blame for a fault.
enum class Blame {
  model,        ///< the model: its file or its code has to change
  usage,        ///< how a tool is called
  environment,  ///< the machine, device, driver or application around it
  versions,     ///< versions of tools that do not fit together
  tool_bug      ///< the tool itself
};
template <>
inline constexpr std::array<Word<Blame>, 5> kWords<Blame> = {{{Blame::model, "model"},
                                                              {Blame::usage, "usage"},
                                                              {Blame::environment, "environment"},
                                                              {Blame::versions, "versions"},
                                                              {Blame::tool_bug, "tool-bug"}}};

/// How much a fix may be trusted, ascending: no rewrite of the file mends it; it rests on an assumption,
/// changes the interface or is not proven; proven in this run.
enum class Applicability { manual, unsafe, safe };
template <>
inline constexpr std::array<Word<Applicability>, 3> kWords<Applicability> = {
    {{Applicability::safe, "safe"}, {Applicability::unsafe, "unsafe"}, {Applicability::manual, "manual"}}};

}  // namespace md
