"""Procedural bugs: one rewriter per file, all of them in `REWRITERS`, in the order that decides ties."""

from components.synthesis.procedural.arithmetic import Arithmetic
from components.synthesis.procedural.augmented_assign import AugmentedAssign
from components.synthesis.procedural.base import STRATEGY, Rewriter
from components.synthesis.procedural.boolean import Boolean
from components.synthesis.procedural.change_default import ChangeDefault
from components.synthesis.procedural.change_return import ChangeReturn
from components.synthesis.procedural.compare_boundary import CompareBoundary
from components.synthesis.procedural.compare_flip import CompareFlip
from components.synthesis.procedural.constant import Constant
from components.synthesis.procedural.drop_keyword import DropKeyword
from components.synthesis.procedural.drop_minus import DropMinus
from components.synthesis.procedural.early_exit import EarlyExit
from components.synthesis.procedural.negate_condition import NegateCondition
from components.synthesis.procedural.off_by_one import OffByOne
from components.synthesis.procedural.remove_assignment import RemoveAssignment
from components.synthesis.procedural.remove_branch import RemoveBranch
from components.synthesis.procedural.remove_call import RemoveCall
from components.synthesis.procedural.string_literal import StringLiteral
from components.synthesis.procedural.swallow_exception import SwallowException
from components.synthesis.procedural.swap_arguments import SwapArguments
from components.synthesis.procedural.swap_operands import SwapOperands
from components.synthesis.procedural.swap_targets import SwapTargets
from components.synthesis.procedural.swap_ternary import SwapTernary
from components.synthesis.procedural.truthiness import Truthiness
from components.synthesis.procedural.unwrap_call import UnwrapCall
from components.synthesis.procedural.while_to_if import WhileToIf
from components.synthesis.procedural.wrong_attribute import WrongAttribute
from components.synthesis.procedural.wrong_call import WrongCall
from components.synthesis.procedural.wrong_exception import WrongException
from components.synthesis.procedural.wrong_variable import WrongVariable

REWRITERS: tuple[Rewriter, ...] = (
    CompareFlip(),
    CompareBoundary(),
    Arithmetic(),
    Boolean(),
    NegateCondition(),
    Constant(),
    OffByOne(),
    SwapArguments(),
    RemoveBranch(),
    RemoveAssignment(),
    WrongVariable(),
    ChangeReturn(),
    ChangeDefault(),
    SwallowException(),
    EarlyExit(),
    Truthiness(),
    AugmentedAssign(),
    StringLiteral(),
    SwapOperands(),
    SwapTernary(),
    SwapTargets(),
    WrongCall(),
    DropKeyword(),
    RemoveCall(),
    UnwrapCall(),
    WrongAttribute(),
    WhileToIf(),
    DropMinus(),
    WrongException(),
)

__all__ = ["REWRITERS", "STRATEGY", "Rewriter"]
