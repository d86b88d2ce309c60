// Finds formats for tests.
#ifndef KILN_TESTS_NUMERICS_FIND_FORMAT_H_
#define KILN_TESTS_NUMERICS_FIND_FORMAT_H_

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "kiln/numerics/format.h"

namespace kiln {

// Returns the format of this name, which must exist.
inline Format Find(std::string_view name) {
  StatusOr<Format> format = FindFormat(name);
  EXPECT_TRUE(format.ok()) << name;
  return std::move(format).value();
}

}  // namespace kiln

#endif  // KILN_TESTS_NUMERICS_FIND_FORMAT_H_
