// The program `kiln` with one family more: what a project with a family of its own builds.
#include <iostream>

#include "kiln/cli/application.h"
#include "kiln/targets/registry.h"
#include "tests/targets/minimal/minimal.h"

int main(int argc, char** argv) {
  kiln::AddFamily(kiln::minimal::Entry());
  return kiln::cli::Main({argv + 1, argv + argc}, std::cout, std::cerr, false);
}
