"""Sites where a policy removed the influence of a cause: they say nothing about the effect elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...graph import bits
from ..parts import Difference
from .dags import WeighedDag
from .moments import Moments


@dataclass(frozen=True)
class Policies:
    """Mechanisms that do not depend on some of their causes at a site, or that are fixed there.

    Parameters
    ----------
    cut : mapping of (site, variable, cause) to words
        Causes without influence on a variable at a site.
    set : mapping of (site, variable) to words
        Variables with one value at a site, or declared as its targets.
    """

    cut: Mapping[tuple[str, str, str], str]
    set: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, moments: Moments, differences: Iterable[Difference]) -> Policies:
        """Collect what was found and what sites declared.

        Examples
        --------
        >>> import pandas as pd
        >>> from fedperi.tables.summary.summaries import summaries
        >>> table = pd.DataFrame({"a": [1.5, 2.0], "b": [1.5, 0.5]})
        >>> moments = Moments.of(summaries({"Lyon": table.assign(b=0.5), "Metz": table}))
        >>> Policies.of(moments, []).why("Lyon", "a", "b")
        'b has one value only'
        """
        declared = {(one.site, name): f"{name} is declared as set" for one in moments.sites for name in one.targets}
        flat = {
            (one.site, name): f"{name} has one value only"
            for one in moments.sites
            for name, block in zip(moments.names, moments.blocks, strict=True)
            if not any(one.covariance[column, column] for column in block)
        }
        cut = {
            (one.site, one.variable, cause): f"{one.variable} does not depend on {cause}"
            for one in differences
            if one.kind == "cut"
            for cause in one.parents
        }
        return cls(cut, declared | flat)

    def why(self, site: str, cause: str, effect: str) -> str:
        """Say why the effect along an arrow may differ at a site from the usual one; empty if there is no reason."""
        return self.set.get((site, effect), "") or self.cut.get((site, effect, cause), "")

    def why_on_paths(self, site: str, names: tuple[str, ...], dag: WeighedDag, cause: int, causal: int) -> str:
        """Say the same for all arrows on directed paths; `causal` are the variables on these paths."""
        for node in bits.members(causal):
            for parent in bits.members(dag.parents[node] & (causal | 1 << cause)):
                if words := self.why(site, names[parent], names[node]):
                    return words
        return ""
