# A dumbbell in ns-2 with Linux's reno. Prints one row of `ns2_congestion_controls.csv` (see `ns2_congestion_controls.py`).
#
#   ns ns2_dumbbell.tcl DropTail 10 400 2 "0 0.31"
#
# Arguments: queue, rate in Mbit/s, limit in packets, seed (only printed) and the start of each flow in seconds. RTT 40 ms:
# 18 ms on the bottleneck, and 1 ms on each side on links ten times as fast. Measured from 10 s to 60 s.

lassign $argv kind rate limit seed starts
set warm 10.0
set stop 60.0

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate}Mb 18ms $kind
$ns queue-limit $left $right $limit
set monitor [$ns monitor-queue $left $right ""]
set integral [$monitor get-pkts-integrator]

set flows {}
foreach start $starts {
    set source [$ns node]
    set drain [$ns node]
    $ns duplex-link $source $left [expr {10 * $rate}]Mb 1ms DropTail
    $ns duplex-link $right $drain [expr {10 * $rate}]Mb 1ms DropTail
    foreach {a b} [list $source $left $left $source $right $drain $drain $right $right $left] {
        $ns queue-limit $a $b 100000
    }
    set tcp [new Agent/TCP/Linux]
    $tcp set packetSize_ 1460
    $tcp set window_ 100000
    $tcp set windowInit_ 2
    $tcp set minrto_ 0.2
    $tcp set timestamps_ true
    set sink [new Agent/TCPSink/Sack1]
    $sink set ts_echo_rfc1323_ true
    $ns attach-agent $source $tcp
    $ns attach-agent $drain $sink
    $ns connect $tcp $sink
    $ns at 0 "$tcp select_ca reno"
    set ftp [$tcp attach-app FTP]
    $ns at $start "$ftp start"
    lappend flows $tcp
}

# What the counters say now: departures, drops, arrivals and bytes at the queue, its integral, and of each flow what it has sent and sent again.
proc snapshot {} {
    global monitor integral flows ns
    # Brings the integral up to this moment.
    $integral newpoint [$ns now] [$monitor set pkts_]
    set values [list [$monitor set pdepartures_] [$monitor set pdrops_] [$monitor set parrivals_] [$monitor set bdepartures_] [$integral set sum_]]
    foreach tcp $flows {
        lappend values [$tcp set ack_] [$tcp set nrexmitpack_]
    }
    return $values
}

proc sample {} {
    global ns monitor lengths
    lappend lengths [$monitor set pkts_]
    $ns at [expr {[$ns now] + 0.0037}] sample
}

proc finish {before} {
    global kind rate limit seed starts warm stop lengths
    set seconds [expr {$stop - $warm}]
    set gone {}
    foreach now [snapshot] then $before {
        lappend gone [expr {$now - $then}]
    }
    lassign $gone departures drops arrivals bytes area
    set sum 0.0
    set squares 0.0
    set repeated 0
    foreach {acked again} [lrange $gone 5 end] {
        set sum [expr {$sum + $acked}]
        set squares [expr {$squares + double($acked) * $acked}]
        incr repeated $again
    }
    set jain [expr {$sum * $sum / [llength $starts] / $squares}]
    set sorted [lsort -integer $lengths]
    set p95 [lindex $sorted [expr {int(0.95 * [llength $sorted])}]]
    puts [join [list $kind $rate [llength $starts] $limit $seed $starts [format %.6g [expr {$bytes * 8e-6 / $rate / $seconds}]] \
        [format %.6g [expr {$area / $seconds}]] [format %.6g [expr {1e3 * $area / $departures}]] $p95 \
        [format %.6g [expr {double($drops) / $arrivals}]] $repeated [format %.6g $jain]] ,]
    exit 0
}

set lengths {}
$ns at $warm {set before [snapshot]; sample}
$ns at $stop {finish $before}
$ns run
