// What every fuzz target expects of an error.
#ifndef KILN_FUZZ_ONE_LINE_H_
#define KILN_FUZZ_ONE_LINE_H_

#include <string>

#include "kiln/support/check.h"
#include "kiln/support/status.h"

namespace kiln {

// Aborts if the message of a status has more than one line.
inline void CheckOneLine(const Status& status) {
  KILN_CHECK(MessageOf(status).find('\n') == std::string::npos);
}

}  // namespace kiln

#endif  // KILN_FUZZ_ONE_LINE_H_
