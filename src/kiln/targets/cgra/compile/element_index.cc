// Composes the texts of indices.

#include "kiln/targets/cgra/compile/element_index.h"

#include "fmt/format.h"

namespace kiln::cgra {

ElementIndex ElementsInOrder(int64_t elements, int64_t lanes) {
  IndexText text;
  text.names = {{"e", SumText(ProductText(elements <= lanes ? "0" : "thread", lanes), "lane")}};
  if (elements % lanes != 0) text.conditions = {fmt::format("e < {}", elements)};
  text.position = {"e"};
  return {std::move(text), [elements, lanes](int64_t, int64_t thread, int64_t lane) {
            const int64_t e = thread * lanes + lane;
            return e < elements ? e : -1;
          }};
}

IndexText Behind(const IndexText& before, IndexText text) {
  text.names.insert(text.names.begin(), before.names.begin(), before.names.end());
  text.conditions.insert(text.conditions.begin(), before.conditions.begin(),
                         before.conditions.end());
  return text;
}

}  // namespace kiln::cgra
