# Dumbbells of the benchmark for ns-2.35: ns dumbbell.tcl FLOWS CONTROL RATE_MBPS RTT_MS QUEUE LIMIT SECONDS
# CONTROL is newreno (ns-2's own SACK TCP, which halves) or a congestion control of TCP-Linux, such as cubic.
# QUEUE is DropTail or SFQ: Debian's ns-2 has no FQ-CoDel.
# Prints packets through the bottleneck, drops and microseconds of the event loop.

if {$argc != 7} {
    puts stderr "usage: ns dumbbell.tcl FLOWS CONTROL RATE_MBPS RTT_MS QUEUE LIMIT SECONDS"
    exit 2
}
lassign $argv flows control rate rtt queue limit seconds

# Keeps only the headers in use. Packets are allocated with every header that is not removed, which is slower.
remove-all-packet-headers
add-packet-header Flags IP TCP

set ns [new Simulator]
$ns use-scheduler Calendar
set sender [$ns node]
set receiver [$ns node]
# As in our dumbbell, packets reach the bottleneck without delay, and half of the propagation delay is in each direction.
$ns simplex-link $sender $receiver ${rate}Mb [expr {$rtt / 2.0}]ms $queue
$ns simplex-link $receiver $sender 100000Mb [expr {$rtt / 2.0}]ms DropTail
$ns queue-limit $sender $receiver $limit
$ns queue-limit $receiver $sender 100000
if {$queue eq "SFQ"} {
    set sfq [[$ns link $sender $receiver] queue]
    $sfq set maxqueue_ $limit
    $sfq set buckets_ 1024
}
set monitor [$ns monitor-queue $sender $receiver [open /dev/null w] 1000]

for {set i 0} {$i < $flows} {incr i} {
    if {$control eq "newreno"} {
        set tcp [new Agent/TCP/Sack1]
    } else {
        set tcp [new Agent/TCP/Linux]
        $tcp set timestamps_ true
        $ns at 0 "$tcp select_ca $control"
    }
    # 1500 bytes on the wire, as in our scenarios.
    $tcp set packetSize_ 1460
    $tcp set window_ 100000
    $tcp set windowInit_ 10
    $tcp set fid_ $i
    # Acknowledges every second segment, as our receivers do.
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $sink set interval_ 40ms
    $sink set ts_echo_rfc1323_ true
    $ns attach-agent $sender $tcp
    $ns attach-agent $receiver $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at 0 "$ftp start"
}

proc finish {} {
    global monitor began
    set took [expr {[clock microseconds] - $began}]
    puts "packets [expr {int([$monitor set pdepartures_])}] drops [expr {int([$monitor set pdrops_])}] microseconds $took"
    exit 0
}
$ns at $seconds finish
set began [clock microseconds]
$ns run
