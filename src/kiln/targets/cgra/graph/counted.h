// Numbers of things in messages.
#ifndef KILN_TARGETS_CGRA_GRAPH_COUNTED_H_
#define KILN_TARGETS_CGRA_GRAPH_COUNTED_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "fmt/format.h"

namespace kiln::cgra {

// Returns a number and a noun, in the plural unless the number is 1: "1 thread", "3 threads".
inline std::string Counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_COUNTED_H_
